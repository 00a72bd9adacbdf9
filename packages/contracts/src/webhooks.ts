/**
 * The config's section `webhooks`, and the events that webhooks deliver, by the Standard Webhooks specification.
 */

import * as z from 'zod'

export const webhookEvents = [
  'allowance.reached',
  'spend_alert.reached',
  'key.created',
  'key.rotated',
  'key.revoked',
  'key.expiring',
  'backend.ejected',
  'backend.restored',
  'config.refused',
] as const
export type WebhookEvent = (typeof webhookEvents)[number]

/** The name of e-mail among those of webhooks. */
export const EMAIL = 'email'

/** `${NAME}` stands for metering's environment variable of that name. */
const HAS_PLACEHOLDER = /\$\{[A-Za-z_]/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const [LEAST_SECRET_BYTES, MOST_SECRET_BYTES] = [24, 64]

/** Returns null for one that is usable. */
export function faultOfWebhookUrl(url: string, allowPrivate: boolean): string | null {
  const parsed = URL.parse(url)
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    return 'must be an https address such as https://example.com/hooks'
  }
  if (parsed.username !== '' || parsed.password !== '') return 'must have no name and no password in it'
  if (parsed.protocol === 'http:' && !allowPrivate) return 'must be an https address; http needs `allowPrivate: true`'
  return null
}

/** Returns null for one that is usable. */
export function faultOfWebhookSecret(secret: string): string | null {
  const text = secret.replace(/^whsec_/, '')
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  const bytes = BASE64.test(text) && text.length % 4 === 0 ? (text.length / 4) * 3 - padding : 0
  if (bytes >= LEAST_SECRET_BYTES && bytes <= MOST_SECRET_BYTES) return null
  return `must be ${LEAST_SECRET_BYTES} to ${MOST_SECRET_BYTES} random bytes in Base64, such as the output of \`openssl rand -base64 32\``
}

const secretOr = (mayBe: RegExp | null) =>
  z.string().superRefine((text, problems) => {
    const fault = mayBe?.test(text) ? null : faultOfWebhookSecret(text)
    if (fault) problems.addIssue(fault)
  })

export const webhookSecret = secretOr(null)
const secret = secretOr(HAS_PLACEHOLDER)

export const webhookConfig = z
  .strictObject({
    /** By which people name it; the address as it stands in the file where it is left out. */
    id: z
      .string()
      .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be lower-case letters, digits, - and _, at most 63')
      .refine((id) => id !== EMAIL, "is the name of the gateway's own e-mail; choose another one")
      .optional(),
    /** May hold `${NAME}`. */
    url: z.string().min(1).max(2_000),
    /** May be `${NAME}`, as those of `secrets`. */
    secret: secret.optional(),
    /** During a rotation: the current one, then the former one. Both sign. */
    secrets: z.array(secret).min(1).max(2).optional(),
    /** All where it is left out. */
    events: z.array(z.enum(webhookEvents)).min(1).optional(),
    /** Lets the address be one of a private network, of this machine, or without TLS. */
    allowPrivate: z.boolean().default(false),
  })
  .superRefine(({ url, secret: one, secrets, allowPrivate }, problems) => {
    const fault = HAS_PLACEHOLDER.test(url) ? null : faultOfWebhookUrl(url, allowPrivate)
    if (fault) problems.addIssue({ code: 'custom', path: ['url'], message: fault })
    if ((one === undefined) === (secrets === undefined)) {
      problems.addIssue({ code: 'custom', path: ['secret'], message: 'is required, or `secrets` in its place' })
    }
  })
  .transform(({ id, url, secret: one, secrets, events, allowPrivate }) => ({
    id: id ?? url,
    url,
    secrets: secrets ?? [one!],
    events: events ?? [...webhookEvents],
    allowPrivate,
  }))
export type WebhookConfig = z.infer<typeof webhookConfig>

export const webhooksSection = z.array(webhookConfig).superRefine((webhooks, problems) => {
  for (const [index, { id }] of webhooks.entries()) {
    const first = webhooks.findIndex((other) => other.id === id)
    if (first < index) {
      const message = `"${id}" is already taken by webhooks[${first}]; give each an \`id\` of its own`
      problems.addIssue({ code: 'custom', path: [index, 'id'], message })
    }
  }
})
