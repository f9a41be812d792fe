-- Whether the price of every call of a run is known; a run that took no tokens has a row only if it is not.
CREATE TABLE IF NOT EXISTS run_prices (
  tenant TEXT NOT NULL,
  id TEXT NOT NULL,
  price_known INTEGER NOT NULL,
  PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS run_prices_go AFTER DELETE ON runs BEGIN DELETE FROM run_prices WHERE tenant = old.tenant AND id = old.id; END;
