//! Tables: objects as `kubectl get` shows them.
//!
//! A kind has [`Columns`]: what they are called, and how each cell follows from an object. A [`Table`] borrows the objects
//! that its rows are about and is serialized at once.

use std::borrow::Cow;
use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::Value;

use crate::object::Object;
use crate::partial::{ListMeta, MetaVersion, PartialObjectMetadata};
use crate::time::{ZERO, format_rfc3339, parse_rfc3339};

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// What stands above it.
    pub name: Cow<'static, str>,
    /// What its cells are.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// What they are more precisely; `name` for the name of the object.
    pub format: Cow<'static, str>,
    /// What it is about.
    pub description: Cow<'static, str>,
    /// Zero if it is always shown, more if it is shown only where there is room.
    pub priority: i32,
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Yes or no.
    Boolean,
    /// A point in time, shown as the time that has passed since.
    Date,
}

/// How much of an object a row carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IncludeObject {
    /// Its metadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
    /// Nothing.
    None,
}

/// Whether a table says what its columns are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Headers {
    /// It does.
    #[default]
    Shown,
    /// It does not: an earlier event of the watch has said it.
    Omitted,
}

/// How to make a table.
#[derive(Clone, Copy, Debug)]
pub struct TableOptions {
    /// In which version.
    pub version: MetaVersion,
    /// With how much of each object.
    pub include: IncludeObject,
    /// With or without its columns.
    pub headers: Headers,
    /// The time that ages are counted to.
    pub now: SystemTime,
}

/// The columns of a kind, and how their cells are found.
pub struct Columns {
    definitions: Vec<Column>,
    cells: Vec<Cell>,
}

type Cell = Box<dyn Fn(&Object, SystemTime) -> Value + Send + Sync>;

/// Objects in rows.
#[derive(Clone, Debug)]
pub struct Table<'o> {
    /// In which version.
    pub version: MetaVersion,
    /// The metadata of the list; of a single object, its version.
    pub metadata: ListMeta,
    /// What the columns are, if it is said.
    pub columns: Option<&'o [Column]>,
    /// The rows.
    pub rows: Vec<Row<'o>>,
}

/// An object in a row.
#[derive(Clone, Debug, Serialize)]
pub struct Row<'o> {
    /// One for each column.
    pub cells: Vec<Value>,
    /// What is to be known of the row as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<RowCondition>,
    /// The object.
    pub object: RowObject<'o>,
}

/// Something to be known of a row, such as that its object has `Completed`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowCondition {
    /// What.
    #[serde(rename = "type")]
    pub condition_type: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in a word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// The object of a row, or what is left of it.
#[derive(Clone, Copy, Debug)]
pub enum RowObject<'o> {
    /// Its metadata.
    Metadata(PartialObjectMetadata<'o>),
    /// All of it.
    Object(&'o Object),
    /// Nothing.
    None,
}

/// Marks the bookmark that ends the initial events of a watch. Its row carries metadata even if none are asked for.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

// === impl Column ===

impl Column {
    /// A column that is always shown.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        column_type: ColumnType,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { name: name.into(), column_type, format: Cow::Borrowed(""), description: description.into(), priority: 0 }
    }

    /// The same, shown only where there is room.
    #[must_use]
    pub fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }
}

// === impl ColumnType ===

impl ColumnType {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
        }
    }

    /// A cell with a value of an object. It is empty if the value is absent or of another type.
    pub fn cell(self, value: Option<&Value>, now: SystemTime) -> Value {
        match (self, value) {
            (Self::Integer, Some(Value::Number(number))) => match number.as_i64() {
                Some(number) => number.into(),
                // A fraction is cut off, and what is too large is as large as can be.
                None => number.as_f64().map_or(Value::Null, |number| (number as i64).into()),
            },
            (Self::String, Some(value @ Value::String(_)))
            | (Self::Number, Some(value @ Value::Number(_)))
            | (Self::Boolean, Some(value @ Value::Bool(_))) => value.clone(),
            (Self::Date, Some(Value::String(text))) => age(text, now).into(),
            (Self::String | Self::Integer | Self::Number | Self::Boolean | Self::Date, _) => Value::Null,
        }
    }
}

// === impl IncludeObject ===

impl IncludeObject {
    /// Reads the parameter of a request. `None` if it is no such value.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "" | "Metadata" => Some(Self::Metadata),
            "Object" => Some(Self::Object),
            "None" => Some(Self::None),
            _ => None,
        }
    }
}

// === impl Headers ===

impl Headers {
    /// What holds for this event of a watch, and that no later one has headers: only the first one has, whatever it is
    /// about.
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Omitted)
    }
}

// === impl Columns ===

impl Columns {
    /// A column for the name, which is always the first one.
    pub fn named() -> Self {
        let name = Column { format: Cow::Borrowed("name"), ..Column::new("Name", ColumnType::String, NAME) };
        Self::none().with(name, |object, _| object.metadata().name().to_owned().into())
    }

    /// No column, for kinds that show the name elsewhere.
    pub fn none() -> Self {
        Self { definitions: Vec::new(), cells: Vec::new() }
    }

    /// One more column.
    #[must_use]
    pub fn with(mut self, column: Column, cell: impl Fn(&Object, SystemTime) -> Value + Send + Sync + 'static) -> Self {
        self.definitions.push(column);
        self.cells.push(Box::new(cell));
        self
    }

    /// One more column: how long ago the object was created.
    #[must_use]
    pub fn with_age(self) -> Self {
        self.with(Column::new("Age", ColumnType::Date, CREATED), |object, now| {
            ColumnType::Date.cell(object.metadata().get("creationTimestamp"), now)
        })
    }

    /// The same, as Kubernetes' own kinds have it: said to be text.
    #[must_use]
    pub fn with_age_as_text(self) -> Self {
        self.with(Column::new("Age", ColumnType::String, CREATED), |object, now| {
            ColumnType::Date.cell(object.metadata().get("creationTimestamp"), now)
        })
    }

    /// What the columns are.
    pub fn definitions(&self) -> &[Column] {
        &self.definitions
    }

    /// A row.
    pub fn row<'o>(&self, object: &'o Object, options: &TableOptions) -> Row<'o> {
        let metadata = || RowObject::Metadata(PartialObjectMetadata::new(options.version, object));
        Row {
            cells: self.cells.iter().map(|cell| cell(object, options.now)).collect(),
            conditions: Vec::new(),
            object: match options.include {
                IncludeObject::Object => RowObject::Object(object),
                IncludeObject::Metadata => metadata(),
                IncludeObject::None if object.metadata().annotation(INITIAL_EVENTS_END) == Some("true") => metadata(),
                IncludeObject::None => RowObject::None,
            },
        }
    }

    /// A list as a table.
    pub fn list<'o>(
        &'o self,
        metadata: ListMeta,
        objects: impl IntoIterator<Item = &'o Object>,
        options: &TableOptions,
    ) -> Table<'o> {
        Table {
            version: options.version,
            metadata,
            columns: match options.headers {
                Headers::Shown => Some(&self.definitions),
                Headers::Omitted => None,
            },
            rows: objects.into_iter().map(|object| self.row(object, options)).collect(),
        }
    }

    /// One object as a table: what a single object or an event of a watch is shown as.
    pub fn object<'o>(&'o self, object: &'o Object, options: &TableOptions) -> Table<'o> {
        let resource_version = object.metadata().resource_version().to_owned();
        self.list(ListMeta { resource_version, ..ListMeta::default() }, [object], options)
    }
}

/// The columns of a kind that has none of its own: the name, and when the object was created.
impl Default for Columns {
    fn default() -> Self {
        Self::named().with(Column::new("Created At", ColumnType::Date, CREATED), |object, _| {
            let created = parse_rfc3339(object.metadata().creation_timestamp());
            created.and_then(format_rfc3339).or_else(|| format_rfc3339(ZERO)).into()
        })
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Columns").field(&self.definitions).finish()
    }
}

const NAME: &str = "The name of the object, which no other object of its kind has in its namespace.";
const CREATED: &str = "When the object was created, according to the server, in UTC.";

// === impl Table ===

impl Serialize for Table<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Table", 5)?;
        fields.serialize_field("kind", "Table")?;
        fields.serialize_field("apiVersion", self.version.api_version())?;
        fields.serialize_field("metadata", &self.metadata)?;
        fields.serialize_field("columnDefinitions", &self.columns)?;
        fields.serialize_field("rows", &self.rows)?;
        fields.end()
    }
}

impl Serialize for RowObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Metadata(metadata) => metadata.serialize(serializer),
            Self::Object(object) => object.fields().serialize(serializer),
            Self::None => serializer.serialize_unit(),
        }
    }
}

/// How long ago a time is, for people.
pub fn age(timestamp: &str, now: SystemTime) -> String {
    let seconds = match timestamp {
        "" => ZERO,
        text => match parse_rfc3339(text) {
            Some(seconds) => seconds,
            None => return "<invalid>".to_owned(),
        },
    };
    if seconds == ZERO {
        return "<unknown>".to_owned();
    }
    let now = match now.duration_since(UNIX_EPOCH) {
        Ok(after) => nanoseconds(after.as_nanos()),
        Err(before) => -nanoseconds(before.duration().as_nanos()),
    };
    let passed = now - i128::from(seconds) * 1_000_000_000;
    human_duration(i64::try_from(passed).unwrap_or(if passed < 0 { i64::MIN } else { i64::MAX }))
}

fn nanoseconds(count: u128) -> i128 {
    i128::try_from(count).unwrap_or(i128::MAX / 2)
}

/// A duration for people, in two or three digits. A little less than nothing is nothing, because clocks differ.
pub fn human_duration(nanoseconds: i64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let minutes = seconds / 60;
    let hours = minutes / 60;
    let days = hours / 24;
    let years = days / 365;
    let pair = |large: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{small_unit}"),
    };
    if seconds < -1 {
        "<invalid>".to_owned()
    } else if seconds < 0 {
        "0s".to_owned()
    } else if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        pair(minutes, "m", seconds % 60, "s")
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        pair(hours, "h", minutes % 60, "m")
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        pair(days, "d", hours % 24, "h")
    } else if days < 365 * 2 {
        format!("{days}d")
    } else if years < 8 {
        pair(years, "y", days % 365, "d")
    } else {
        format!("{years}y")
    }
}

#[cfg(test)]
mod tests;
