/**
 * What each process uses of its machine.
 */

import { perSecond, rate, sum, type Dashboard } from './panels.ts'

export const processes: Dashboard = {
  uid: 'processes',
  title: 'Processes',
  rows: [
    {
      title: 'Each process',
      panels: [
        { title: 'CPU', unit: 'percentunit', queries: [rate('process_cpu_seconds_total', ['service', 'instance'])] },
        { title: 'Memory', unit: 'bytes', queries: [sum('process_resident_memory_bytes', 'service', 'instance')] },
        { title: 'JavaScript heap', unit: 'bytes', queries: [sum('nodejs_heap_used_bytes', 'service', 'instance')] },
        {
          title: 'Event loop lag, 99 %',
          unit: 's',
          queries: [sum('nodejs_eventloop_lag_p99_seconds', 'service', 'instance')],
        },
        { title: 'Open files and sockets', unit: 'short', queries: [sum('process_open_fds', 'service', 'instance')] },
        {
          title: 'Answers under way',
          unit: 'short',
          queries: [sum('gateway_bus_streams_open', 'service', 'instance')],
        },
      ],
    },
    {
      title: 'What runs',
      panels: [
        {
          title: 'CPU per request, all processes',
          unit: 's',
          queries: [
            {
              expr: `sum(rate(process_cpu_seconds_total{job=~".*gateway.*"}[$__rate_interval])) / ${perSecond('gateway_requests_total')}`,
              legend: 'seconds',
            },
          ],
        },
        {
          title: 'Starts',
          unit: 'short',
          queries: [
            { expr: 'sum by (service) (changes(process_start_time_seconds[$__rate_interval]))', legend: '{{service}}' },
          ],
        },
        {
          title: 'Config file refused',
          description: '1: an older configuration runs',
          unit: 'short',
          queries: [
            { expr: 'max by (service, instance) (gateway_config_refused)', legend: '{{service}} {{instance}}' },
          ],
        },
        {
          title: 'Versions',
          kind: 'table',
          unit: 'short',
          queries: [{ expr: 'sum by (service, instance, version, node) (gateway_build_info)', legend: '' }],
        },
      ],
    },
  ],
}
