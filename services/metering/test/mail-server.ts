/** A real SMTP server, which keeps the mails that it takes. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  from: string
  to: string[]
  /** As it came: headers and text. */
  source: string
}

export interface MailServer extends AsyncDisposable {
  /** For SMTP_URL. */
  url: string
  mails: ReceivedMail[]
  /** Passwords that came. */
  passwords: string[]
  /** The code of its reply to a recipient; null takes it. */
  refusal(recipient: string): number | null
}

export async function startMailServer(): Promise<MailServer> {
  const started: MailServer = {
    url: '',
    mails: [],
    passwords: [],
    refusal: () => null,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
  const server = new SMTPServer({
    authOptional: true,
    // It has no TLS, and takes passwords in the clear.
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth({ password }, _session, done) {
      started.passwords.push(password ?? '')
      done(null, { user: 'gateway' })
    },
    closeTimeout: 100,
    onRcptTo({ address }, _session, done) {
      const responseCode = started.refusal(address)
      done(responseCode === null ? null : Object.assign(new Error('not here'), { responseCode }))
    },
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        const to = envelope.rcptTo.map(({ address }) => address)
        started.mails.push({ from, to, source: Buffer.concat(parts).toString() })
        done()
      })
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  started.url = `smtp://127.0.0.1:${port}/?from=gateway%40example.com`
  return started
}
