SELECT name FROM queues WHERE burden = 'heavy'
