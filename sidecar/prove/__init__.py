"""External provers: race those that are installed on one TPTP problem and say which axioms the proof used."""
