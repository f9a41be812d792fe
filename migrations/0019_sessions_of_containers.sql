-- The sessions whose workspace is a container, the oldest first.
CREATE INDEX IF NOT EXISTS sessions_of_containers ON sessions (created_at)
  WHERE id >= 'container_01' AND id < 'container_02';
