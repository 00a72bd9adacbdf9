/**
 * One attempt to deliver an event by e-mail. The server's final refusal of the recipient or of the message ends the delivery; any
 * other failure is tried again.
 */

import { senderOf } from '@gateway/service/environment'
import nodemailer from 'nodemailer'
import * as z from 'zod'
import type { AttemptOutcome } from '../core/delivery-attempts.ts'

export interface OutgoingMail {
  eventId: string
  recipient: string
  /** The text of `writeMail`. */
  payload: string
}

const mailText = z.object({ subject: z.string(), text: z.string() })

export function writeMail(mail: z.infer<typeof mailText>): string {
  return JSON.stringify({ subject: mail.subject, text: mail.text })
}

export interface Mailer extends Disposable {
  send(mail: OutgoingMail): Promise<AttemptOutcome>
}

const FINAL_REFUSAL = 500

/** `url`: of SMTP_URL, whose parameter `from` is the sender. */
export function openMailer(url: string, timeoutMs: number): Mailer {
  const server = new URL(url)
  const from = senderOf(server)!
  server.searchParams.delete('from')
  const transport = nodemailer.createTransport({
    url: server.href,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // No password leaves in the clear, even where somebody between here and the server hides its TLS.
    requireTLS: server.protocol === 'smtp:' && server.password !== '',
    // A mail reads no file and fetches nothing.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    async send({ eventId, recipient, payload }) {
      const { subject, text } = mailText.parse(JSON.parse(payload))
      // The same for each attempt, so that mail servers find repetitions.
      const messageId = `<${eventId}@${domainOf(from)}>`
      try {
        await transport.sendMail({ from, to: { name: '', address: recipient }, subject, text, messageId })
        return { kind: 'delivered' }
      } catch (error) {
        return outcomeOf(error as Error & { code?: string; responseCode?: number })
      }
    },
    [Symbol.dispose]: () => transport.close(),
  }
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1)
}

function outcomeOf({
  message,
  code,
  responseCode = 0,
}: Error & { code?: string; responseCode?: number }): AttemptOutcome {
  const isOfTheMail = code === 'EENVELOPE' || code === 'EMESSAGE'
  const fault = message.replaceAll(/\p{Cc}+/gu, ' ').slice(0, 500)
  return { kind: isOfTheMail && responseCode >= FINAL_REFUSAL ? 'rejected' : 'failed', fault }
}
