//! The store in PostgreSQL, for more than one collector.
