UPDATE jobs SET node = :node WHERE number = :number
