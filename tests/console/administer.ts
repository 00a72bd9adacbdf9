/**
 * Calls of the administration API behind a visitor's back: the state of the organization that a test begins with.
 */

import type { OperationName, Output } from '@gateway/contracts/administration/operations'
import { type Operation } from '@gateway/contracts/administration/operation'
import { operations } from '@gateway/contracts/administration/operations'
import { signIn } from '@gateway/stand-ins/sign-in'
import type { Stage } from './stage.ts'
import { newName, openConsole, signIn as signInOnPage } from './visitor.ts'

export interface Administrator {
  call<Name extends OperationName>(name: Name, input?: Record<string, unknown>): Promise<Output<Name>>
}

/** `owner…` and `reader…` have a role in the organization. */
export async function administerAs(stage: Stage, name: string): Promise<Administrator> {
  const { url, issuer } = stage.gateway
  const token = await signIn(issuer, { name, redirectUri: `${url}/console` })
  return {
    async call(operation, input = {}) {
      const row: Operation = operations[operation]
      const rest = { ...input }
      const path = row.path.replace(/\{(\w+)\}/g, (_id, member: string) => {
        const id = String(rest[member])
        delete rest[member]
        return encodeURIComponent(id)
      })
      const isRead = row.method === 'GET'
      const query = isRead ? `?${new URLSearchParams(rest as Record<string, string>)}` : ''
      const response = await fetch(`${url}${path}${query}`, {
        method: row.method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(!isRead && { body: JSON.stringify(rest) }),
      })
      const body: unknown = await response.json()
      if (!response.ok) throw new Error(`${operation}: ${response.status} ${JSON.stringify(body)}`)
      return body as never
    },
  }
}

/** The organization's owner, whose calls prepare a test. */
export function ownerOf(stage: Stage): Promise<Administrator> {
  return administerAs(stage, 'owner-behind')
}

/** Someone with a role, or a member of projects, at the given page. */
export async function visitAs(stage: Stage, name: string, path: string, options?: Parameters<Stage['visit']>[0]) {
  const visit = await stage.visit(options)
  await openConsole(stage, visit.page)
  await signInOnPage(visit.page, name)
  if (path !== '') await openConsole(stage, visit.page, path)
  // A reload in the middle of signing in would send its code twice.
  await visit.page.getByRole('button', { name: 'Sign out' }).waitFor()
  return visit
}

/** A person who can be a member of projects: a first call has made the person known. */
export async function newMember(stage: Stage): Promise<{ name: string; email: string; id: string }> {
  const name = newName()
  const { id } = await (await administerAs(stage, name)).call('me.retrieve')
  return { name, email: `${name}@example.com`, id }
}

export function send(stage: Stage, key: string, stream = false): Promise<Response> {
  return fetch(`${stage.gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model: 'svc-instant', stream },
      messages: [{ role: 'user', content: stream ? 'Tell me in 300 words.' : 'Say: hi' }],
    }),
  })
}

export async function statusOf(stage: Stage, key: string): Promise<number> {
  const response = await send(stage, key)
  await response.arrayBuffer()
  return response.status
}
