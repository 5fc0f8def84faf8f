"""Search: a person's question or a name goes in, declarations and the reasons for them come out."""
