"""Running user code: functions, coroutines and programs, the runner, and the exchange with the store."""
