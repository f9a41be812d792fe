-- 0026_run_models.sql: the model of a run, as provider/model.
ALTER TABLE runs ADD COLUMN model TEXT;
