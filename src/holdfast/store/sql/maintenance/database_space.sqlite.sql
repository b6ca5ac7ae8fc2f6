SELECT p.page_count AS pages, f.freelist_count AS free, s.page_size, a.auto_vacuum = 2 AS is_incremental
FROM pragma_page_count AS p, pragma_freelist_count AS f, pragma_page_size AS s, pragma_auto_vacuum AS a
