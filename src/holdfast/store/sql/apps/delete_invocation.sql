DELETE FROM handler_invocations WHERE id = :id
