/**
 * Claude Code's attribution block changes with a conversation, and in some versions with a turn. Anthropic's own API reads
 * it and takes it out of the prompt. Any other target would read it as the beginning of the prompt, and its prompt
 * cache would miss the rest.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientDialects, targetDialects, type ClientDialect, type TargetDialect } from '@gateway/contracts/vendors'
import { good } from './dialect-backends.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { nativeOf } from './target-fixtures.ts'

/** The forms of 2.1.42 (`cch`), 2.1.181 (none), 2.1.263 (a request's predecessor) and of its agents. */
const pairs = fc
  .record({
    version: fc.constantFrom('2.1.42.a3f', '2.1.330.0d9'),
    cch: fc.option(fc.stringMatching(/^[0-9a-f]{5}$/)),
    more: fc.subarray(['cc_workload=cron;', 'cc_is_subagent=true;', 'cc_prev_req=req_011CTx9Y;']),
  })
  .map(({ version, cch, more }) =>
    [
      `cc_version=${version};`,
      'cc_entrypoint=cli;',
      ...(cch === null ? [] : [`cch=${cch};`]),
      ...more,
      'cc_prompt_id=0123-fingerprint;',
    ].join(' '),
  )
const block = fc
  .record({ pairs, before: fc.constantFrom('', '\n'), isOpen: fc.boolean() })
  .map((given) => `${given.before}x-anthropic-billing-header: ${given.isOpen ? given.pairs.slice(0, -1) : given.pairs}`)
const FINGERPRINT = '0123-fingerprint'

const QUOTES = [
  'Never print x-anthropic-billing-header: cc_version=1; cch=quoted; to anyone.',
  'x-anthropic-billing-header: is the name of a line that clients write.',
  'Read this:\n```\nx-anthropic-billing-header: cc_version=1; cch=quoted;\n```',
]
const words = fc.constantFrom('You are a coding agent.', 'Be brief.', ...QUOTES)

/** A system prompt in each form in which clients write one; null: the texts themselves. */
const system = fc
  .record({ block, others: fc.array(words, { minLength: 1, maxLength: 3 }), at: fc.nat(3) })
  .chain(({ block: head, others, at }) =>
    fc.constantFrom(
      // A block of its own, at any position.
      { texts: others.toSpliced(Math.min(at, others.length), 0, head), others },
      // A line of its own at the head of a longer text.
      { texts: [`${head}\n${others[0]!}`, ...others.slice(1)], others },
      { texts: [`${head}\n\n${others.join('\n\n')}`], others: [others.join('\n\n')] },
    ),
  )

/** The texts as a client writes them, by its dialect: one text, parts, or messages of the system. */
type Form = 'text' | 'parts' | 'messages' | 'message of parts'
const FORMS: Form[] = ['text', 'parts', 'messages', 'message of parts']
const USER = 'Why does x-anthropic-billing-header: cc_version=1; cch=quoted; stand here?'

function requestOf(client: ClientDialect, form: Form, texts: readonly string[]): object {
  const text = texts.join('\n\n')
  const parts = texts.map((one) => ({ type: client === 'responses' ? 'input_text' : 'text', text: one }))
  const role = client === 'messages' ? 'system' : 'developer'
  const messages = { text: [{ role, content: text }], parts: [{ role, content: parts }] }
  const own = form === 'text' || form === 'message of parts' ? messages[form === 'text' ? 'text' : 'parts'] : null
  const each = texts.map((content) => ({ role, content }))
  const user = { role: 'user', content: USER }
  if (client === 'messages' && (form === 'text' || form === 'parts')) {
    return { max_tokens: 50, system: form === 'text' ? text : parts, messages: [user] }
  }
  const spoken = [...(own ?? each), user]
  if (client === 'messages') return { max_tokens: 50, messages: spoken }
  if (client !== 'responses') return { messages: spoken }
  return form === 'text' ? { instructions: text, input: [user], store: false } : { input: spoken, store: false }
}

const routes = clientDialects.flatMap((client) => targetDialects.map((target) => ({ client, target })))

describe('the attribution block', () => {
  test.each(routes)('of a $client client reaches no $target target but Anthropic’s own', async ({ client, target }) => {
    const { seen, sendRequest } = await routeTo(client, target)
    await fc.assert(
      fc.asyncProperty(system, fc.constantFrom(...FORMS), async ({ texts, others }, form) => {
        // Joined to one text, only a block at its head is known to be one.
        fc.pre(form !== 'text' || isHead(texts[0]))
        await sendRequest(requestOf(client, form, texts))
        const sent = seen.at(-1)!
        expect(sent).not.toContain(FINGERPRINT)
        for (const other of [...others, USER]) expect(sent).toContain(JSON.stringify(other).slice(1, -1))
      }),
      { numRuns: 40 },
    )
  })

  test.each(clientDialects)('of a %s client does not change the bytes that follow', async (client) => {
    const { seen, sendRequest } = await routeTo(client, nativeOf(client))
    const turn = (cch: string) =>
      requestOf(client, 'parts', [
        `x-anthropic-billing-header: cc_version=2.1.42.a3f; cch=${cch};`,
        'You are an agent.',
      ])
    await sendRequest(turn('11111'))
    await sendRequest(turn('2fa0e'))
    await sendRequest(requestOf(client, 'parts', ['You are an agent.']))
    expect(new Set(seen).size).toBe(1)
  })

  test.each(['text', 'parts', 'messages', 'message of parts'] as const)(
    'reaches Anthropic’s own API unchanged, as %s',
    async (form) => {
      const a = await backend(good('messages'))
      const anthropic = poolOver(['http://api.anthropic.com/v1'], { backend: { dialect: 'anthropic' } })
      const under = await router(anthropic, { HTTP_PROXY: new URL(a.url).origin })
      const request = requestOf('messages', form, ['x-anthropic-billing-header: cc_version=2; cch=1fa0e;', 'Be brief.'])
      const job = await under.sendRequest({ dialect: 'messages' }, request)
      expect(job.failure).toBeNull()
      expect(a.seen[0]!.body).toEqual({ model: 'model-a', ...request })
    },
  )
})

function isHead(text: string): boolean {
  return text.trimStart().startsWith('x-anthropic-billing-header: cc_version=2')
}

async function routeTo(client: ClientDialect, target: TargetDialect) {
  const seen: string[] = []
  const reply = good(target)
  const opened = await backend((response, request, socket) => {
    seen.push(request.text)
    return reply(response, request, socket)
  })
  const own = { dialect: target === 'messages' ? 'anthropic' : 'openai', dialects: [target] }
  // The name of the vendor alone makes nobody Anthropic: others speak its API, too.
  const vendor = target === 'messages' ? { vendor: 'anthropic' } : {}
  const under = await router(poolOver([opened.url], { backend: { ...own, ...vendor } }))
  return {
    seen,
    async sendRequest(body: object) {
      const job = await under.sendRequest({ dialect: client }, body)
      expect(job.failure).toBeNull()
    },
  }
}
