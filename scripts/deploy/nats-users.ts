/**
 * Writes the broker's users with their permissions from the contract's table of procedures. Each service has a user of its own, so
 * that no service publishes in another's name or reads another's messages.
 */

import { join } from 'node:path'
import { type BusRole, busRoles, type Procedure, procedures } from '@gateway/contracts/bus-roles'
import { consumedAccountStream, groups, keptStream, usageStream } from '@gateway/contracts/subjects'
import { consuming, ensuringStream, framesTo, keepingIn, ownInbox, type Permissions } from '@gateway/bus/permissions'

interface RolePermissions extends Permissions {
  /** May respond once to each request that reached it. */
  responds: boolean
}

export const NATS_USERS_PATH = join(import.meta.dirname, '../../deploy/chart/files/nats-users.conf')

const streams = [usageStream, consumedAccountStream]
/** Longer than any caller waits for a response. */
const RESPONSE_WITHIN = '1m'

export function permissionsOf(role: BusRole): RolePermissions {
  const own = ownInbox(role)
  const publish = new Set(own.publish)
  const subscribe = new Set(own.subscribe)
  let responds = false
  for (const procedure of Object.values<Procedure>(procedures)) {
    const subject = subjectOf(procedure)
    if (procedure.from.includes(role)) {
      publish.add(subject)
      if (procedure.kind === 'job') for (const other of procedure.to) publish.add(framesTo(other))
      if (procedure.kind === 'event') for (const right of ensuringStream(streamOf(subject).name)) publish.add(right)
    }
    if (procedure.kind === 'kept' && procedure.from.includes(role)) {
      for (const right of keepingIn(keptStream.name)) publish.add(right)
    }
    if (!procedure.to.includes(role) || procedure.kind === 'kept') continue
    if (procedure.kind === 'event') {
      const { name: stream, consumers } = streamOf(subject)
      for (const consumer of consumers) for (const right of consuming(stream, consumer)) publish.add(right)
      continue
    }
    subscribe.add(procedure.kind === 'news' ? subject : `${subject} ${groupOf(role)}`)
    if (procedure.kind === 'job') for (const other of procedure.from) publish.add(framesTo(other))
    if (procedure.kind === 'question') responds = true
  }
  return { publish: [...publish], subscribe: [...subscribe], responds }
}

/** The file for the server's `include`; passwords come from its environment. */
export function natsUsersFile(): string {
  const users = busRoles.map((role) => {
    const { publish, subscribe, responds } = permissionsOf(role)
    return [
      '      {',
      `        user: ${role}, password: $NATS_${role.toUpperCase()}_PASSWORD`,
      '        permissions: {',
      `          publish: [${quotedLines(publish)}]`,
      `          subscribe: [${quotedLines(subscribe)}]`,
      ...(responds ? [`          allow_responses: { max: 1, expires: "${RESPONSE_WITHIN}" }`] : []),
      '        }',
      '      }',
    ].join('\n')
  })
  return `# Who may say and hear what on the bus. Written by \`npm run write deploy\` from packages/contracts/src/bus-roles.ts and
# packages/bus/src/nats/permissions.ts; \`npm run check\` refuses a file that differs. Passwords come from the environment.

accounts: {
  GATEWAY: {
    jetstream: enabled
    users: [
${users.join('\n')}
      # For the operator's own hands: streams, backups, consumers of account.threshold.
      { user: admin, password: $NATS_ADMIN_PASSWORD }
    ]
  }
  # For \`nats server report\` and the like.
  SYS: { users: [{ user: sys, password: $NATS_SYS_PASSWORD }] }
}
system_account: SYS
`
}

function subjectOf({ subject, to }: Procedure): string {
  if (typeof subject === 'string') return subject
  // A process's id begins with its role.
  return subject === procedures.answers.subject ? subject(`${to[0]}.*`) : subject('*')
}

function streamOf(subject: string) {
  const [family] = subject.split('.')
  const stream = streams.find((known) => known.subjects.some((pattern) => pattern === `${family}.>`))
  if (!stream) throw new Error(`no stream stores ${subject}`)
  return stream
}

function groupOf(role: BusRole): string {
  if (role === 'ctl') throw new Error('the command line answers nobody')
  return groups[role]
}

function quotedLines(subjectNames: string[]): string {
  return `\n${subjectNames.map((name) => `            ${JSON.stringify(name)}`).join('\n')}\n          `
}
