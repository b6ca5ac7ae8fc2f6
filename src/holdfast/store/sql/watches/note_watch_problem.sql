UPDATE watches SET problem = :problem WHERE id = :id
