-- The server looks after its files itself.
SELECT 0 AS pages, 0 AS free, 8192 AS page_size, 0 AS is_incremental
