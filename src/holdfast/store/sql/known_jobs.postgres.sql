-- Which of these jobs exist.
SELECT id FROM jobs WHERE id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS json))))
