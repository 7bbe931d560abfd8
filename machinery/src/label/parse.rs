//! The text form of label selectors.

use super::{Error, Expected, MAX_REQUIREMENTS, Operator, Requirement, Selector, Unexpected, check_key};
use crate::field::{FieldErrors, FieldPath};

/// A piece of a selector's text. `in` and `notin` are also words, and count as such where an operator cannot stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    End,
    Comma,
    Open,
    Close,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    Word(&'t str),
}

pub(super) struct Parser<'t> {
    rest: &'t str,
    token: Token<'t>,
}

/// Why a requirement could not be read.
enum Failure {
    Syntax(Unexpected),
    Invalid(FieldErrors),
}

impl Token<'_> {
    fn literal(self) -> String {
        let literal = match self {
            Token::End => "",
            Token::Comma => ",",
            Token::Open => "(",
            Token::Close => ")",
            Token::Not => "!",
            Token::Equals => "=",
            Token::DoubleEquals => "==",
            Token::NotEquals => "!=",
            Token::Greater => ">",
            Token::Less => "<",
            Token::Word(word) => word,
        };
        literal.to_owned()
    }

    fn but(self, expected: Expected) -> Unexpected {
        Unexpected { found: self.literal(), expected }
    }
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut parser = Self { rest: text, token: Token::Comma };
        parser.advance();
        parser
    }

    pub(super) fn selector(mut self) -> Result<Selector, Error> {
        let mut requirements = Vec::new();
        loop {
            match self.token {
                Token::Word(_) | Token::Not => {}
                Token::End => return Ok(Selector::new(requirements)),
                other => return Err(Error::Syntax(other.but(Expected::RequirementOrEnd))),
            }
            requirements.push(self.requirement().map_err(|failure| match failure {
                Failure::Syntax(unexpected) => Error::RequirementSyntax(unexpected),
                Failure::Invalid(errors) => Error::RequirementInvalid(errors),
            })?);
            if requirements.len() > MAX_REQUIREMENTS {
                return Err(Error::TooMany);
            }
            match self.take() {
                Token::End => return Ok(Selector::new(requirements)),
                Token::Comma if matches!(self.token, Token::Word(_) | Token::Not) => {}
                Token::Comma => return Err(Error::Syntax(self.token.but(Expected::RequirementAfterComma))),
                other => return Err(Error::Syntax(other.but(Expected::CommaOrEnd))),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, Failure> {
        let absent = self.token == Token::Not;
        if absent {
            self.advance();
        }
        let key = match self.take() {
            Token::Word(word) => word,
            other => return Err(Failure::Syntax(other.but(Expected::Identifier))),
        };
        // Upstream names no field here, and Go writes that as `<nil>`.
        let mut errors = FieldErrors::default();
        check_key(key, FieldPath::new("<nil>"), &mut errors);
        errors.into_result().map_err(Failure::Invalid)?;

        let (operator, values) = if absent {
            (Operator::DoesNotExist, Vec::new())
        } else if matches!(self.token, Token::End | Token::Comma) {
            (Operator::Exists, Vec::new())
        } else {
            let operator = match self.take() {
                Token::Word("in") => Operator::In,
                Token::Word("notin") => Operator::NotIn,
                Token::Equals => Operator::Equals,
                Token::DoubleEquals => Operator::DoubleEquals,
                Token::NotEquals => Operator::NotEquals,
                Token::Greater => Operator::GreaterThan,
                Token::Less => Operator::LessThan,
                other => return Err(Failure::Syntax(other.but(Expected::Operator))),
            };
            let values = match operator {
                Operator::In | Operator::NotIn => self.values(),
                _ => self.value().map(|value| vec![value]),
            };
            (operator, values.map_err(Failure::Syntax)?)
        };
        let mut values: Vec<String> = values.into_iter().map(str::to_owned).collect();
        values.sort_unstable();
        values.dedup();
        Requirement::new(key, operator, values).map_err(Failure::Invalid)
    }

    /// The value of `=` and the like; none is the empty one.
    fn value(&mut self) -> Result<&'t str, Unexpected> {
        if matches!(self.token, Token::End | Token::Comma) {
            return Ok("");
        }
        match self.take() {
            Token::Word(word) => Ok(word),
            other => Err(other.but(Expected::Identifier)),
        }
    }

    /// Values in parentheses. Nothing before, between or after commas is the empty value, except after a word and before
    /// another.
    fn values(&mut self) -> Result<Vec<&'t str>, Unexpected> {
        match self.take() {
            Token::Open => {}
            other => return Err(other.but(Expected::OpenParenthesis)),
        }
        let mut values = Vec::new();
        match self.token {
            Token::Word(_) | Token::Comma => {}
            Token::Close => {
                self.advance();
                return Ok(vec![""]);
            }
            other => return Err(other.but(Expected::ValuesOrEnd)),
        }
        loop {
            match self.take() {
                Token::Word(word) => {
                    values.push(word);
                    match self.token {
                        Token::Comma => {}
                        Token::Close => break,
                        other => return Err(other.but(Expected::CommaOrClose)),
                    }
                }
                Token::Comma => {
                    if values.is_empty() || matches!(self.token, Token::Close | Token::Comma) {
                        values.push("");
                    }
                    if self.token == Token::Close {
                        break;
                    }
                }
                other => return Err(other.but(Expected::CommaOrIdentifier)),
            }
        }
        self.advance();
        Ok(values)
    }

    fn take(&mut self) -> Token<'t> {
        let token = self.token;
        self.advance();
        token
    }

    /// Reads the next token. The end stays where it is.
    ///
    /// A NUL is to Kubernetes the end of the text if it starts a token, and a space if it ends one.
    fn advance(&mut self) {
        if self.token == Token::End {
            return;
        }
        let text = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let symbol = |token, length| (token, &text[length..]);
        let (token, rest) = match text.as_bytes() {
            [] | [0, ..] => (Token::End, ""),
            [b'=', b'=', ..] => symbol(Token::DoubleEquals, 2),
            [b'!', b'=', ..] => symbol(Token::NotEquals, 2),
            [b'=', ..] => symbol(Token::Equals, 1),
            [b'!', ..] => symbol(Token::Not, 1),
            [b',', ..] => symbol(Token::Comma, 1),
            [b'(', ..] => symbol(Token::Open, 1),
            [b')', ..] => symbol(Token::Close, 1),
            [b'>', ..] => symbol(Token::Greater, 1),
            [b'<', ..] => symbol(Token::Less, 1),
            _ => {
                let ends = |c| matches!(c, '\0' | ' ' | '\t' | '\r' | '\n' | '=' | '!' | '(' | ')' | ',' | '>' | '<');
                let (word, rest) = text.split_at(text.find(ends).unwrap_or(text.len()));
                (Token::Word(word), rest)
            }
        };
        self.token = token;
        self.rest = rest.strip_prefix('\0').unwrap_or(rest);
    }
}
