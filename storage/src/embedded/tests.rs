//! What only the inside of the engine can show.
