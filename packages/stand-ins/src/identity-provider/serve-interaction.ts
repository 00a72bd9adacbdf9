/**
 * The provider's two pages, to sign in and to sign out: a name, no password, no script, nothing from another host.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Provider } from 'oidc-provider'

const MAX_FORM_BYTES = 4_096
const MAX_NAME_LENGTH = 64

/** Shows the page (GET) or signs in with the name that was typed (POST). */
export async function serveInteraction(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await provider.interactionDetails(request, response)
    if (request.method !== 'POST') return sendPage(response, 200)
    const name = (await readForm(request)).get('name')?.trim() ?? ''
    if (name === '' || name.length > MAX_NAME_LENGTH)
      return sendPage(response, 400, 'Type a name of up to 64 characters.')
    const result = { login: { accountId: name } }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false })
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    if (!response.headersSent) response.writeHead(400, { 'content-type': 'text/plain; charset=utf-8' })
    response.end(`This sign-in is over (${text}). Go back and start again.\n`)
  }
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = ''
  for await (const chunk of request) {
    text += String(chunk)
    if (text.length > MAX_FORM_BYTES) throw new Error('the form is too large')
  }
  return new URLSearchParams(text)
}

function sendPage(response: ServerResponse, status: number, problem = ''): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  })
  response.end(
    pageOf(
      'Sign in',
      `<p>This is the development identity provider: any name will do, without a password. Never use it in production.</p>
  <p><code>owner</code> administers the gateway, <code>reader</code> sees everything, and <code>ada@search</code> is in the group search.</p>
  ${problem && `<p role="alert">${problem}</p>`}
  <form method="post">
    <label for="name">Name</label>
    <input id="name" name="name" required maxlength="${MAX_NAME_LENGTH}" autofocus autocomplete="username">
    <button>Sign in</button>
  </form>`,
    ),
  )
}

/** `form`: the provider's own, without a button, which this page gives it. */
export function signOutPage(form: string): string {
  return pageOf(
    'Sign out',
    `<p>This ends your session at the development identity provider, too.</p>
  ${form}
  <button form="op.logoutForm" name="logout" value="yes" autofocus>Sign out</button>
  <button form="op.logoutForm" class="quiet">Stay signed in</button>`,
  )
}

function pageOf(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} (development)</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
  main { max-width: 22rem; margin: 15vh auto; padding: 0 1rem }
  label, input, button { display: block; width: 100%; box-sizing: border-box; font: inherit }
  input, button { padding: .6rem; margin: .3rem 0 1rem; border-radius: .4rem; border: 1px solid GrayText }
  button { background: #1f6feb; color: #fff; border: 0; cursor: pointer }
  button.quiet { background: none; color: inherit; border: 1px solid GrayText }
  [role=alert] { color: #c62828 }
</style>
<main>
  <h1>${title}</h1>
  ${content}
</main>
</html>
`
}
