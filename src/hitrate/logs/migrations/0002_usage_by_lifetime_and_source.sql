-- Writes split by lifetime, where the vendor splits them, and where each count came from.
ALTER TABLE calls ADD COLUMN written_5m_tokens INTEGER;
ALTER TABLE calls ADD COLUMN written_1h_tokens INTEGER;
ALTER TABLE calls ADD COLUMN sources TEXT NOT NULL DEFAULT '{}';  -- JSON object: column name to JSON paths
