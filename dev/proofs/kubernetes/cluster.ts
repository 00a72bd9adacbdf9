/**
 * The cluster that a proof runs on: one that the reader names, or one that `own-cluster/` builds.
 */

import type { ClusterTools } from './cluster-tools.ts'

export interface Cluster {
  readonly tools: ClusterTools
  readonly images: ClusterImages
  readonly addresses: Addresses
  /** A folder for files of the proof. */
  readonly folder: string
  /** Only a cluster that was built here has it. */
  readonly machine?: Machine
}

export interface ClusterImages {
  /** `<registry>/<service>:<tag>` are the gateway's own. */
  registry: string
  tag: string
  /** The same services under another tag, for an upgrade. */
  otherTag?: string
  pullPolicy: 'Never' | 'IfNotPresent'
  /** Without it, the chart's own. */
  nats?: string
  /** Without it, the companion's own. */
  redis?: string
  postgres: string
}

/** The addresses by which clients in this process reach the cluster. */
export interface Addresses {
  readonly gateway: string
  readonly issuer: string
  /** `host:port` */
  readonly database: string
}

/** The machine under a cluster. Its proofs add a node, read control groups and enter namespaces of pods. */
export interface Machine {
  readonly address: string
  readonly secondNode: string
  addNode(): Promise<string>
  readonly measurers: Measurers
}

export interface Measurers {
  openMetricsServer(): Promise<AsyncDisposable>
  openPrometheus(): Promise<AsyncDisposable>
  openKeda(): Promise<AsyncDisposable>
}

export function imageOf({ registry, tag }: ClusterImages, service: string): string {
  return `${registry}/${service}:${tag}`
}
