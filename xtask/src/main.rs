//! Development tasks: ci, kafka, vectors, layers, prove.

fn main() {}
