-- Jobs that were chosen by their numbers.
SELECT @part(claimed_columns) FROM jobs WHERE number @in(:numbers BIGINT)
