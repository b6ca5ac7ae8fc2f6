SELECT * FROM jobs WHERE number = :number
