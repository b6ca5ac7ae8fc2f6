SELECT payload FROM jobs WHERE number = :number
