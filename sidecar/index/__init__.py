"""The index: a corpus and an encoder go in, a folder that answers by meaning, by words and by constants comes out."""
