/**
 * Servers on this computer and keys in the environment that somebody may want to use. Only looked for, never used.
 */

import { Agent, get } from 'node:http'
import { isObject, objectsOf } from '@gateway/contracts/json'
import { ownerOf } from './describe-server.ts'
import { parseJson } from './dialect.ts'

export interface FoundServer {
  name: string
  url: string
  /** The variable that holds its key. */
  keyVariable: string | null
}

/** These servers listen here by default. */
const USUAL_PORTS = [11434, 1234, 8000, 8080, 30000]
const KEYS: [variable: string, name: string, url: string][] = [
  ['OPENAI_API_KEY', 'OpenAI', 'https://api.openai.com/v1'],
  ['ANTHROPIC_API_KEY', 'Anthropic', 'https://api.anthropic.com/v1'],
]

interface Looking {
  environment: NodeJS.ProcessEnv
  /** The gateway's own. */
  exceptPorts: readonly number[]
  ports?: readonly number[]
}

const WITHIN_MS = 2_000

export async function findServers(looking: Looking): Promise<FoundServer[]> {
  const { environment, exceptPorts, ports = USUAL_PORTS } = looking
  const local = ports.filter((port) => !exceptPorts.includes(port))
  const answers = await Promise.all(local.map(lookAt))
  const keys = KEYS.filter(([variable]) => environment[variable]).map(([keyVariable, name, url]) => {
    return { name, url, keyVariable }
  })
  return [...answers.filter((found) => found !== null), ...keys]
}

/** Null where no server responds in time, and where the response is no list of models. */
function lookAt(port: number): Promise<FoundServer | null> {
  const url = `http://127.0.0.1:${port}/v1`
  const agent = new Agent({ keepAlive: false })
  return new Promise((resolve) => {
    const request = get(`${url}/models`, { agent, signal: AbortSignal.timeout(WITHIN_MS) }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        if (text.length > MOST_CHARACTERS) request.destroy()
      })
      response.on('end', () => resolve(readList(text, url)))
      response.on('error', () => resolve(null))
    })
    request.on('error', () => resolve(null))
    request.on('close', () => resolve(null))
  })
}

const MOST_CHARACTERS = 1_000_000

/** A server that does not name itself, a gateway like this one among them, is not offered. */
function readList(text: string, url: string): FoundServer | null {
  const json = parseJson(text)
  const owner = ownerOf(isObject(json) ? objectsOf(json['data']) : [])
  return owner ? { name: owner.name, url, keyVariable: null } : null
}

/** The command that would use it. `start`: how this user starts the gateway with options. */
export function commandFor({ url, keyVariable }: FoundServer, start: string): string {
  const key = keyVariable === null ? '' : `BACKEND_API_KEY=$${keyVariable} `
  return `${key}${start} --backend ${url}`
}
