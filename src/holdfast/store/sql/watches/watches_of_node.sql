SELECT * FROM watches WHERE node = :node ORDER BY name
