/**
 * Calls of OpenAI's Administration API that this gateway does not have, with the part that does the work here. Each is a 404.
 *
 * A row of the table of operations counts before these.
 */

interface AbsentCalls {
  /** `{}` stands for one segment. Paths below it are absent, too. */
  path: string
  /** For the client. */
  instead: string
}

const BY_CLAIMS = "the identity provider's claims decide it; the config's operators and signIn name them"
const BY_MASTER_SECRET = 'KEYS_MASTER_SECRET seals what the gateway keeps'
const BY_PROXY = 'the proxy in front of the gateway checks certificates of clients'
const BY_MEMBERS =
  'members of a project have the roles member and owner, by /v1/organization/projects/{project_id}/users'

export const absentCalls: readonly AbsentCalls[] = [
  {
    path: '/v1/organization/invites',
    instead: 'invite people at the identity provider; they appear in users once they sign in',
  },
  { path: '/v1/organization/certificates', instead: BY_PROXY },
  { path: '/v1/organization/projects/{}/certificates', instead: BY_PROXY },
  { path: '/v1/organization/external_keys', instead: BY_MASTER_SECRET },
  { path: '/v1/organization/external_storage', instead: 'prompts and responses are stored nowhere' },
  {
    path: '/v1/organization/workload_identity_providers',
    instead: 'AUTH_ISSUER names the identity provider whose tokens open the gateway; a workload gets a service account',
  },
  {
    path: '/v1/organization/projects/{}/service_tier_settings',
    instead: "priorities and weights of the config's pools choose the targets",
  },
  { path: '/v1/organization/users', instead: BY_CLAIMS },
  { path: '/v1/organization/groups', instead: BY_CLAIMS },
  { path: '/v1/organization/roles', instead: BY_CLAIMS },
  { path: '/v1/projects', instead: BY_MEMBERS },
  { path: '/v1/organization/projects/{}/groups', instead: BY_MEMBERS },
  {
    path: '/v1/organization/spend_limit',
    instead: 'a limit belongs to a project: /v1/organization/projects/{project_id}/spend_limit',
  },
]

/** Null: the path is none of OpenAI's Administration API. */
export function insteadOf(path: string): string | null {
  return findAbsent(path)?.instead ?? null
}

export function findAbsent(path: string): AbsentCalls | undefined {
  const segments = path.split('/')
  return absentCalls.find((absent) => isBelow(segments, absent.path.split('/')))
}

function isBelow(segments: readonly string[], above: readonly string[]): boolean {
  return above.every((segment, at) => segment === segments[at] || (segment === '{}' && segments[at] !== undefined))
}
