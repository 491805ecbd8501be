"""The paper's experiments: settings, run, compare, draw; one module a table or figure."""
