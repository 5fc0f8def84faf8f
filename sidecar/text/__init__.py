"""Canonical texts: everything that an encoder or the lexical index sees goes through here.

In: raw texts of goals, declarations and questions, printed with or without notation. Out: lower-case words that are the
same for a symbol and for the constant behind it.
"""
