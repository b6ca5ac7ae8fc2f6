SELECT j.id, j.retry_of, p.state FROM jobs AS j JOIN jobs AS p ON p.id = j.retry_of WHERE p.state <> 'FAILED'
