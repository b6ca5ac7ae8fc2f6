"""HTTP: routes made from the table of calls, who may call, streams, problem details, the description."""
