-- The living keys that a person has made, for the end of a membership.
create index project_keys_by_creator on keys.project_keys (created_by) where deactivated_at is null;
