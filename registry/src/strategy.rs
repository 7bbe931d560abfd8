//! The rules of a kind beyond its schema.

use async_trait::async_trait;
use bailiwick_machinery::{FieldErrors, Object};

use crate::context::Ctx;
use crate::error::Result;
use crate::update::Part;

/// The rules of a kind. What is the same for all kinds (metadata, schema, status, generation) is done around it.
#[async_trait]
pub trait Strategy: Send + Sync + 'static {
    /// Completes what a client sent, before anything is decided about it or anyone owns it.
    fn complete(&self, _object: &mut Object) {}

    /// Completes an object that is about to be created. It is validated afterwards.
    async fn prepare_create(&self, _ctx: &Ctx<'_>, _object: &mut Object) -> Result<()> {
        Ok(())
    }

    /// Completes an object that is about to take the place of `old`. It is validated afterwards.
    async fn prepare_update(&self, _ctx: &Ctx<'_>, _object: &mut Object, _old: &Object) -> Result<()> {
        Ok(())
    }

    /// Notes what is wrong with an object. Must not look at anything else.
    fn validate(&self, _object: &Object, _errors: &mut FieldErrors) {}

    /// Notes what is wrong with an object that takes the place of `old`, beyond [`Strategy::validate`].
    fn validate_update(&self, _object: &Object, _old: &Object, _errors: &mut FieldErrors) {}

    /// Notes all that is wrong with an object that takes the place of `old`, for a kind that judges a change otherwise than a
    /// new object.
    fn validate_change(&self, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate_update(object, old, errors);
        self.validate(object, errors);
    }

    /// Notes what is wrong with an object of which a part other than the main one was written.
    fn validate_part(&self, _part: Part, _object: &Object, _old: &Object, _errors: &mut FieldErrors) {}

    /// What the client should know of an object that is valid.
    fn warnings(&self, _object: &Object, _old: Option<&Object>) -> Vec<String> {
        Vec::new()
    }

    /// Whether an object that is to go must stay for now, even if it has no finalizers in its metadata.
    fn must_stay(&self, _object: &Object) -> bool {
        false
    }

    /// Says in an object that it is to go, beyond its metadata.
    fn mark_deleted(&self, _object: &mut Object) {}

    /// Refuses to delete an object that others rely on.
    async fn check_delete(&self, _ctx: &Ctx<'_>, _object: &Object) -> Result<()> {
        Ok(())
    }
}

/// No rules beyond the schema.
#[derive(Clone, Copy, Debug, Default)]
pub struct SchemaOnly;

impl Strategy for SchemaOnly {}
