/**
 * The Helm chart, rendered with each set of values under `deploy/values/`.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { helm } from './helm.ts'
import { NATS_USERS_PATH } from './nats-users.ts'

export const DEPLOY = join(import.meta.dirname, '../../deploy')
export const CHART = join(DEPLOY, 'chart')
const RELEASE = ['gateway', CHART, '--namespace', 'ai']

export const valueSets = readdirSync(join(DEPLOY, 'values')).map((file) => basename(file, '.yaml'))

/** The rendering that a person has reviewed last. */
export function goldenPath(set: string): string {
  return join(DEPLOY, 'golden', `${set}.yaml`)
}

/** The rendering without alerts, dashboards and the broker's users: those have files of their own. */
export function goldenText(rendered: string): string {
  return rendered
    .split(/^---\n/m)
    .filter((document) => !document.includes('templates/observability.yaml'))
    .join('---\n')
    .replace(
      asInConfigMap(readFileSync(NATS_USERS_PATH, 'utf8')),
      () => '    # the text of chart/files/nats-users.conf',
    )
    .replace(/(?<=checksum\/config: )[\da-f]{64}$/m, 'a hash of the two files')
}

function asInConfigMap(text: string): string {
  return text.replaceAll(/^/gm, '    ').trimEnd()
}

export function render(set: string, ...args: string[]): string {
  return helm('template', ...RELEASE, '--values', join(DEPLOY, 'values', `${set}.yaml`), ...args)
}

export function lint(set: string): void {
  helm('lint', CHART, '--strict', '--quiet', '--values', join(DEPLOY, 'values', `${set}.yaml`))
}
