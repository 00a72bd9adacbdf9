/**
 * Usage on its way to the ledger, and the bus that carries it.
 */

import { perSecond, quantile, quantiles, rate, type Dashboard } from './panels.ts'

export const metering: Dashboard = {
  uid: 'metering',
  title: 'Metering and bus',
  rows: [
    {
      title: 'Usage on its way',
      panels: [
        {
          title: 'Wait for the acknowledgement',
          description: 'The end of every answer waits for it',
          unit: 's',
          queries: quantiles('gateway_bus_acknowledge_seconds', 0.5, 0.99),
        },
        {
          title: 'Not yet stored, not yet consumed',
          unit: 'short',
          queries: [
            { expr: 'sum by (service) (gateway_bus_durable_pending)', legend: '{{service}}: not stored' },
            { expr: 'max(gateway_bus_durable_backlog{service="metering"})', legend: 'in the stream' },
          ],
        },
        {
          title: 'Room of the stream',
          description: 'Edges refuse all work once the stream is full',
          unit: 'bytes',
          queries: [
            { expr: 'max(gateway_bus_durable_stored_bytes{service="metering"})', legend: 'stored' },
            { expr: 'max(gateway_bus_durable_room_bytes{service="metering"})', legend: 'room' },
          ],
        },
        {
          title: 'Acknowledging',
          description: '0: edges refuse new work',
          unit: 'short',
          queries: [{ expr: 'min by (service) (gateway_bus_durable_healthy)', legend: '{{service}}' }],
        },
        {
          title: 'From the end of a request to its row',
          unit: 's',
          queries: quantiles('gateway_metering_lag_seconds', 0.5, 0.99),
        },
        {
          title: 'Reports',
          unit: 'reqps',
          queries: [rate('gateway_metering_reports_total', ['outcome'])],
        },
        { title: 'Time to record a batch', unit: 's', queries: quantiles('gateway_metering_batch_seconds', 0.5, 0.99) },
      ],
    },
    {
      title: 'Bus',
      panels: [
        {
          title: 'Router to edge and back',
          unit: 's',
          queries: quantiles('gateway_bus_round_trip_seconds', 0.5, 0.99),
        },
        {
          title: 'Messages and frames',
          unit: 'short',
          queries: [
            { expr: perSecond('gateway_bus_messages_total', ['event']), legend: 'messages {{event}}' },
            { expr: perSecond('gateway_bus_frames_total', ['event']), legend: 'frames {{event}}' },
          ],
        },
        {
          title: 'Resumes, reconnects, pauses',
          unit: 'short',
          queries: [
            { expr: 'sum(increase(gateway_bus_resumes_total[$__rate_interval]))', legend: 'resumes' },
            { expr: 'sum(increase(gateway_bus_reconnects_total[$__rate_interval]))', legend: 'reconnects' },
            { expr: 'sum(increase(gateway_bus_pauses_total[$__rate_interval]))', legend: 'pauses' },
          ],
        },
        {
          title: 'Jobs',
          unit: 'reqps',
          queries: [rate('gateway_bus_jobs_total', ['event'])],
        },
        {
          title: 'Requests between services, 99 %',
          unit: 's',
          queries: [{ expr: quantile(0.99, 'gateway_bus_request_seconds', ['subject']), legend: '{{subject}}' }],
        },
        {
          title: 'Totals kept for a store that is away',
          unit: 'short',
          queries: [{ expr: 'max(gateway_metering_store_away)', legend: 'away' }],
        },
      ],
    },
  ],
}
