/**
 * The compose file is consistent, and each check of it finds the mistake that it is for.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '@gateway/config/load-config'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { problemsOfCompose, readCompose } from './compose-rules.ts'
import { serviceNames } from './service-environment.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8')
const text = read('docker-compose.yml')
const { services } = readCompose(text)

test('it breaks no rule', () => {
  expect(problemsOfCompose(text)).toEqual([])
})

test('it runs the NATS of the chart', () => {
  const chart = parse(read('deploy/chart/values.yaml')) as { nats: { image: string } }
  expect(chart.nats.image).toBe(`docker.io/library/${services['nats-1']?.image}`)
})

describe('each mistake is found', () => {
  test.each<[string, string | RegExp, string, string]>([
    [
      'a misspelt field',
      'stop_grace_period: 45s',
      'stop_grace_time: 45s',
      '/services/edge/stop_grace_time is not a field',
    ],
    ['a field of another type', 'mem_limit: 384m', 'mem_limit: [384m]', '/services/keys/mem_limit must be'],
    ['a variable that the example lacks', '${REDIS_PASSWORD:?}@redis', '${REDIS_PASS:?}@redis', 'REDIS_PASS is not in'],
    ['a variable that the service does not read', 'STOP_NOTICE_MS:', 'STOP_NOTICE:', 'edge does not read STOP_NOTICE'],
    ['a value that the service refuses', "DRAIN_MS: '30000'", 'DRAIN_MS: 30s', 'DRAIN_MS'],
    ['a required variable left out', /\n +KEYS_MASTER_SECRET: .*/, '', 'KEYS_MASTER_SECRET'],
    [
      'a file that is not there',
      './deploy/compose/redis.conf',
      './deploy/redis.conf',
      'mounts ./deploy/redis.conf, which does not exist',
    ],
    ['a volume that is not declared', "'redis:/data'", "'cache:/data'", 'there is no volume cache'],
    ['a config that nothing mounts', '/etc/model-gateway/gateway.yaml', '/etc/gateway.yaml', 'which nothing mounts'],
    ['a target that the Dockerfile lacks', 'target: keys', 'target: key', 'there is no target key'],
    ['an image of whatever version', 'redis:8-alpine', 'redis', 'its image redis has no version'],
    [
      'a service that is not there',
      'postgres: { condition: service_healthy }',
      'postgresql: { condition: service_healthy }',
      'there is no service postgresql',
    ],
    [
      'a wait for a service that never says that it is healthy',
      'redis: { condition: service_healthy }',
      'prometheus: { condition: service_healthy }',
      'waits for prometheus',
    ],
    [
      'a service that is killed while it drains',
      'stop_grace_period: 45s',
      'stop_grace_period: 20s',
      'is killed before it has stopped',
    ],
    [
      'a health check that engines before 25 refuse',
      'start_period: 60s',
      'start_period: 60s\n    start_interval: 1s',
      'start_interval',
    ],
  ])('%s', (_, wanted, replacement, complaint) => {
    const changed = text.replace(wanted, replacement)
    expect(changed).not.toBe(text)
    expect(problemsOfCompose(changed).join('\n')).toContain(complaint)
  })
})

test('every service is there, unprivileged, without capabilities, on a file system that it cannot write', () => {
  for (const name of [...serviceNames, 'ctl', 'identity-provider', 'backend-a', 'backend-b']) {
    expect(services[name]).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  }
})

test('nothing is published beyond this machine', () => {
  const published = Object.values(services).flatMap(({ ports = [] }) => ports)
  expect(published.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
})

test('the config file loads, and names backends that run at the ports that it says', () => {
  const { config } = loadConfig(read('deploy/compose/gateway.yaml'), 'gateway.yaml')
  for (const { url } of config.backends) {
    const { hostname, port } = new URL(url)
    expect(services[hostname]?.environment?.['PORT']).toBe(port)
  }
  expect(config.models.length).toBeGreaterThan(15)
})

test('addresses lead to services that are there, at the ports that they have', () => {
  const ports: Record<string, string> = {
    'nats-1': '4222',
    'nats-2': '4222',
    'nats-3': '4222',
    redis: '6379',
    postgres: '5432',
  }
  const addresses = serviceNames.flatMap((name) => {
    const { NATS_URL, REDIS_URL, DATABASE_URL } = services[name]!.environment!
    return [...NATS_URL!.split(','), REDIS_URL, DATABASE_URL].filter((address) => address !== undefined)
  })
  const reached = addresses.map((address) => new URL(address.replaceAll(/\$\{[^}]*\}/g, 'secret')))
  expect(reached.filter(({ hostname, port }) => ports[hostname] !== port).map(String)).toEqual([])
})

test('Prometheus scrapes every service at the port of its metrics', () => {
  const { scrape_configs } = parse(read('deploy/compose/prometheus.yml')) as {
    scrape_configs: { dns_sd_configs: { names: string[]; port: number }[] }[]
  }
  const [scraped] = scrape_configs[0]!.dns_sd_configs
  expect(scraped!.names.toSorted()).toEqual([...serviceNames].toSorted())
  expect(read('deploy/Dockerfile')).toContain(`HEALTH_PORT=${scraped!.port}`)
})
