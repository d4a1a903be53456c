"""The two engines behind a library: vectors in Chroma, terms in Tantivy."""
