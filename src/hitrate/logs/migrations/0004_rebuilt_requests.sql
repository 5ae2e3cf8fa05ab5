-- Whether the log held the request, or `body` was put together from what it had of the conversation.
ALTER TABLE calls ADD COLUMN rebuilt INTEGER NOT NULL DEFAULT 0;  -- 1: put together
