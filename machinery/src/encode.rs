//! From a JSON value to the bytes of an answer, byte for byte as kube-apiserver writes them.
//!
//! Keys are sorted; `<`, `>`, `&` and the two separators that JavaScript takes for line ends are escaped; whole
//! floating-point numbers have no point. Compact JSON ends with a line end and indented JSON does not, which is so
//! because Go has two functions for them.

pub(crate) mod number;
mod yaml;

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::media::MediaType;
use number::json_float;

pub use number::make_whole;
pub use yaml::to_yaml;

/// Writes an answer. Protobuf is not written here, and comes out as JSON.
pub fn encode(media_type: MediaType, layout: Layout, value: &Value) -> Vec<u8> {
    match (media_type, layout) {
        (MediaType::Yaml, _) => to_yaml(value).into_bytes(),
        (MediaType::Json | MediaType::Protobuf, Layout::Compact) => {
            let mut text = to_json(value);
            text.push(b'\n');
            text
        }
        (MediaType::Json | MediaType::Protobuf, Layout::Pretty) => to_json_pretty(value),
    }
}

/// For whom JSON is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// For programs: on one line.
    #[default]
    Compact,
    /// For people: indented by two spaces.
    Pretty,
}

/// JSON on one line, without a line end.
pub fn to_json(value: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(128);
    write(&mut text, value, CompactFormatter);
    text
}

/// JSON on one line behind what is there already.
pub fn push_json(text: &mut Vec<u8>, value: &Value) {
    write(text, value, CompactFormatter);
}

/// JSON indented by two spaces.
pub fn to_json_pretty(value: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(128);
    write(&mut text, value, PrettyFormatter::new());
    text
}

/// How many bytes `to_json` makes, without making them.
pub fn json_len(value: &Value) -> usize {
    let mut count = Count(0);
    write(&mut count, value, CompactFormatter);
    count.0
}

fn write<W: io::Write, F: Formatter>(writer: &mut W, value: &Value, formatter: F) {
    let written = value.serialize(&mut Serializer::with_formatter(writer, GoFormatter(formatter)));
    debug_assert!(written.is_ok(), "memory takes all bytes, and the keys of a value are text");
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A formatter whose numbers and texts look as Go's do.
struct GoFormatter<F>(F);

impl<F: Formatter> Formatter for GoFormatter<F> {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(json_float(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(position) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let (before, from) = rest.split_at(position);
            writer.write_all(before.as_bytes())?;
            let mut characters = from.chars();
            let special = characters.next().map_or(0, u32::from);
            write!(writer, "\\u{special:04x}")?;
            rest = characters.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
pub(crate) mod tests;
