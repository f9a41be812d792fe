-- Which catalog is served. KV `catalog:current` is a copy.
CREATE TABLE IF NOT EXISTS catalog_pointer (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  revision INTEGER NOT NULL,
  pointer TEXT NOT NULL
);
