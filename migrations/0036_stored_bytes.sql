-- How many bytes the complete files of a tenant have together, so that no upload adds them up.
CREATE TABLE IF NOT EXISTS stored_bytes (
  tenant TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS stored_bytes_more AFTER INSERT ON stored_files WHEN new.stored = 1 BEGIN INSERT INTO stored_bytes VALUES (new.tenant, new.size) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes; END;
CREATE TRIGGER IF NOT EXISTS stored_bytes_change AFTER UPDATE OF stored, size ON stored_files WHEN old.size * (old.stored = 1) <> new.size * (new.stored = 1) BEGIN INSERT INTO stored_bytes VALUES (new.tenant, new.size * (new.stored = 1) - old.size * (old.stored = 1)) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes; END;
CREATE TRIGGER IF NOT EXISTS stored_bytes_less AFTER DELETE ON stored_files WHEN old.stored = 1 BEGIN UPDATE stored_bytes SET bytes = bytes - old.size WHERE tenant = old.tenant; END;
CREATE TRIGGER IF NOT EXISTS stored_bytes_go AFTER UPDATE ON stored_bytes WHEN new.bytes = 0 BEGIN DELETE FROM stored_bytes WHERE tenant = new.tenant; END;
INSERT INTO stored_bytes SELECT tenant, sum(size) FROM (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM stored_bytes)) CROSS JOIN stored_files WHERE stored = 1 AND size > 0 GROUP BY tenant;
