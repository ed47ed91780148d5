"""Tables of the instance. JSON and BOOL are column types that the store converts."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, value JSON);
CREATE TABLE IF NOT EXISTS users (
  id INTEGER PRIMARY KEY AUTOINCREMENT, username TEXT UNIQUE NOT NULL, name TEXT NOT NULL,
  email TEXT NOT NULL,
  admin BOOL NOT NULL DEFAULT 0, state TEXT NOT NULL DEFAULT 'active', bot BOOL NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tokens (
  id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,
  name TEXT NOT NULL, digest TEXT UNIQUE NOT NULL, scopes JSON NOT NULL, expires_at TEXT,
  revoked BOOL NOT NULL DEFAULT 0, created_at TEXT NOT NULL, last_used_at TEXT);
CREATE TABLE IF NOT EXISTS groups (
  id INTEGER PRIMARY KEY AUTOINCREMENT, parent_id INTEGER REFERENCES groups ON DELETE CASCADE,
  name TEXT NOT NULL, path TEXT NOT NULL, full_path TEXT UNIQUE NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  visibility TEXT NOT NULL DEFAULT 'private', created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS projects (
  id INTEGER PRIMARY KEY AUTOINCREMENT, group_id INTEGER REFERENCES groups ON DELETE CASCADE,
  user_id INTEGER REFERENCES users, name TEXT NOT NULL, path TEXT NOT NULL, full_path TEXT UNIQUE NOT NULL,
  description TEXT, visibility TEXT NOT NULL DEFAULT 'private', default_branch TEXT NOT NULL DEFAULT 'main',
  settings JSON NOT NULL DEFAULT '{}', created_at TEXT NOT NULL, last_activity_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS members (
  id INTEGER PRIMARY KEY AUTOINCREMENT, source_type TEXT NOT NULL, source_id INTEGER NOT NULL,
  user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE, access_level INTEGER NOT NULL,
  created_at TEXT NOT NULL, UNIQUE (source_type, source_id, user_id));
CREATE TABLE IF NOT EXISTS variables (
  id INTEGER PRIMARY KEY AUTOINCREMENT, owner_type TEXT NOT NULL, owner_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL, variable_type TEXT NOT NULL DEFAULT 'env_var', protected BOOL NOT NULL DEFAULT 0,
  masked BOOL NOT NULL DEFAULT 0, hidden BOOL NOT NULL DEFAULT 0, raw BOOL NOT NULL DEFAULT 0,
  environment_scope TEXT NOT NULL DEFAULT '*', description TEXT,
  UNIQUE (owner_type, owner_id, key, environment_scope));
CREATE TABLE IF NOT EXISTS protected_branches (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
  name TEXT NOT NULL, push_level INTEGER NOT NULL DEFAULT 40, merge_level INTEGER NOT NULL DEFAULT 40,
  allow_force_push BOOL NOT NULL DEFAULT 0, UNIQUE (project_id, name));
CREATE TABLE IF NOT EXISTS refs (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
  name TEXT NOT NULL, sha TEXT NOT NULL, UNIQUE (project_id, name));
CREATE TABLE IF NOT EXISTS pipelines (
  id INTEGER PRIMARY KEY AUTOINCREMENT, iid INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE, user_id INTEGER REFERENCES users,
  merge_request_id INTEGER, ref TEXT NOT NULL, tag BOOL NOT NULL DEFAULT 0, sha TEXT NOT NULL,
  before_sha TEXT NOT NULL, source TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'created', name TEXT,
  yaml_errors TEXT, stages JSON NOT NULL DEFAULT '[]', variables JSON NOT NULL DEFAULT '[]',
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, started_at TEXT, finished_at TEXT);
CREATE INDEX IF NOT EXISTS pipelines_by_project ON pipelines (project_id, sha);
CREATE TABLE IF NOT EXISTS jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT, pipeline_id INTEGER NOT NULL REFERENCES pipelines ON DELETE CASCADE,
  project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE, user_id INTEGER REFERENCES users,
  name TEXT NOT NULL, stage TEXT NOT NULL, stage_index INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'created',
  tag_list JSON NOT NULL DEFAULT '[]', spec JSON NOT NULL, needs JSON,
  run_when TEXT NOT NULL DEFAULT 'on_success',
  allow_failure BOOL NOT NULL DEFAULT 0, retried BOOL NOT NULL DEFAULT 0, timeout_s INTEGER, token TEXT,
  runner_id INTEGER REFERENCES runners ON DELETE SET NULL,
  manager_id INTEGER REFERENCES managers ON DELETE SET NULL,
  failure_reason TEXT, exit_code INTEGER, coverage REAL, variables JSON NOT NULL DEFAULT '[]',
  created_at TEXT NOT NULL, queued_at TEXT, started_at TEXT, finished_at TEXT, contacted_at TEXT,
  erased_at TEXT);
CREATE INDEX IF NOT EXISTS jobs_by_pipeline ON jobs (pipeline_id);
CREATE INDEX IF NOT EXISTS jobs_by_status ON jobs (status);
CREATE INDEX IF NOT EXISTS jobs_by_project ON jobs (project_id, status);
CREATE TABLE IF NOT EXISTS runners (
  id INTEGER PRIMARY KEY AUTOINCREMENT, runner_type TEXT NOT NULL, token TEXT UNIQUE NOT NULL,
  token_expires_at TEXT, description TEXT NOT NULL DEFAULT '', maintenance_note TEXT,
  tag_list JSON NOT NULL DEFAULT '[]', run_untagged BOOL NOT NULL DEFAULT 1, locked BOOL NOT NULL DEFAULT 0,
  paused BOOL NOT NULL DEFAULT 0, access_level TEXT NOT NULL DEFAULT 'not_protected', maximum_timeout INTEGER,
  group_id INTEGER REFERENCES groups ON DELETE CASCADE, creator_id INTEGER, queue_value TEXT,
  created_at TEXT NOT NULL, contacted_at TEXT);
CREATE TABLE IF NOT EXISTS runner_projects (
  id INTEGER PRIMARY KEY AUTOINCREMENT, runner_id INTEGER NOT NULL REFERENCES runners ON DELETE CASCADE,
  project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE, UNIQUE (runner_id, project_id));
CREATE TABLE IF NOT EXISTS managers (
  id INTEGER PRIMARY KEY AUTOINCREMENT, runner_id INTEGER NOT NULL REFERENCES runners ON DELETE CASCADE,
  system_id TEXT NOT NULL, version TEXT, revision TEXT, platform TEXT, architecture TEXT, executor TEXT,
  ip_address TEXT, features JSON NOT NULL DEFAULT '{}', config JSON NOT NULL DEFAULT '{}',
  created_at TEXT NOT NULL, contacted_at TEXT, UNIQUE (runner_id, system_id));
CREATE TABLE IF NOT EXISTS artifacts (
  id INTEGER PRIMARY KEY AUTOINCREMENT, job_id INTEGER NOT NULL REFERENCES jobs ON DELETE CASCADE,
  file_type TEXT NOT NULL, file_format TEXT, filename TEXT NOT NULL, size INTEGER NOT NULL,
  created_at TEXT NOT NULL, expire_at TEXT, UNIQUE (job_id, file_type));
CREATE TABLE IF NOT EXISTS merge_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT, iid INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE, title TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '', source_branch TEXT NOT NULL, target_branch TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'opened', author_id INTEGER NOT NULL REFERENCES users, sha TEXT,
  merge_commit_sha TEXT, labels JSON NOT NULL DEFAULT '[]', created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  merged_at TEXT, closed_at TEXT, UNIQUE (project_id, iid));
CREATE TABLE IF NOT EXISTS notes (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
  merge_request_id INTEGER NOT NULL REFERENCES merge_requests ON DELETE CASCADE, body TEXT NOT NULL,
  author_id INTEGER NOT NULL REFERENCES users, created_at TEXT NOT NULL, updated_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS statuses (
  id INTEGER PRIMARY KEY AUTOINCREMENT, project_id INTEGER NOT NULL REFERENCES projects ON DELETE CASCADE,
  pipeline_id INTEGER, sha TEXT NOT NULL, ref TEXT, name TEXT NOT NULL, status TEXT NOT NULL, target_url TEXT,
  description TEXT, coverage REAL, author_id INTEGER NOT NULL, created_at TEXT NOT NULL, started_at TEXT,
  finished_at TEXT, UNIQUE (project_id, sha, ref, name));
CREATE TABLE IF NOT EXISTS hooks (
  id INTEGER PRIMARY KEY AUTOINCREMENT, owner_type TEXT NOT NULL, owner_id INTEGER NOT NULL,
  url TEXT NOT NULL,
  name TEXT, description TEXT, token TEXT, signing_token TEXT, uuid TEXT NOT NULL, events JSON NOT NULL,
  push_events_branch_filter TEXT NOT NULL DEFAULT '', branch_filter_strategy TEXT NOT NULL DEFAULT 'wildcard',
  enable_ssl_verification BOOL NOT NULL DEFAULT 1, custom_headers JSON NOT NULL DEFAULT '[]',
  custom_webhook_template TEXT NOT NULL DEFAULT '', recent_failures INTEGER NOT NULL DEFAULT 0,
  disabled_until TEXT, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, hook_id INTEGER NOT NULL REFERENCES hooks ON DELETE CASCADE,
  event TEXT NOT NULL, trigger_name TEXT NOT NULL, payload TEXT NOT NULL, idempotency_key TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'queued', created_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS deliveries_by_state ON deliveries (state);
CREATE TABLE IF NOT EXISTS hook_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT, hook_id INTEGER NOT NULL REFERENCES hooks ON DELETE CASCADE,
  url TEXT NOT NULL, trigger_name TEXT NOT NULL, event TEXT NOT NULL, request_headers JSON NOT NULL,
  request_data TEXT NOT NULL, response_headers JSON NOT NULL, response_body TEXT NOT NULL,
  response_status TEXT NOT NULL, execution_duration REAL NOT NULL, internal_error_message TEXT,
  created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS faults (
  id INTEGER PRIMARY KEY AUTOINCREMENT, rule JSON NOT NULL, remaining INTEGER);
CREATE TABLE IF NOT EXISTS requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, method TEXT NOT NULL, path TEXT NOT NULL,
  query TEXT NOT NULL, status INTEGER NOT NULL, user_agent TEXT, duration_s REAL NOT NULL, fault TEXT);
"""

TABLES = (
    "requests",
    "faults",
    "hook_events",
    "deliveries",
    "hooks",
    "statuses",
    "notes",
    "merge_requests",
    "artifacts",
    "jobs",
    "pipelines",
    "managers",
    "runner_projects",
    "runners",
    "refs",
    "protected_branches",
    "variables",
    "members",
    "projects",
    "groups",
    "tokens",
    "users",
    "meta",
)
