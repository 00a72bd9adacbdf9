/**
 * The console's icons, drawn on one grid, each of one path. All are decoration: a text or a label beside them has the name.
 */

import { BASE_PATH } from '../read-config.ts'

/** The logo, which is also the page's icon. */
export function Mark({ size }: { size: number }) {
  return <img src={`${BASE_PATH}/icon.svg`} width={size} height={size} alt="" />
}

const draw = (path: string, { size = 18, fill = 'none' } = {}) =>
  function Icon() {
    return (
      <svg width={size} height={size} viewBox="0 0 24 24" fill={fill} aria-hidden="true">
        <path d={path} stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" />
      </svg>
    )
  }

export const HomeIcon = draw('M4 11.5 12 5l8 6.5V19a1 1 0 0 1-1 1h-4.5v-5h-5v5H5a1 1 0 0 1-1-1z')
export const KeyIcon = draw('M12 15a4 4 0 1 1-8 0 4 4 0 0 1 8 0M11 12l8.5-8.5M16 7l3 3M13.5 9.5l2 2')
export const ChartIcon = draw('M4 20h16M7 16v-5M12 16V6M17 16v-8')
export const ModelsIcon = draw('m12 4 8 4-8 4-8-4zM4 12l8 4 8-4M4 16l8 4 8-4')
export const ChatIcon = draw('M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-7l-4.5 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z')
export const ArrowIcon = draw('M5 12h14M13 6l6 6-6 6')
export const CopyIcon = draw(
  'M11 9h7a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-7a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2zM5 15H4V5a1 1 0 0 1 1-1h10v1',
  { size: 16 },
)
export const CheckIcon = draw('m5 12.5 4.5 4.5L19 7.5', { size: 16 })
export const SunIcon = draw(
  'M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M18.4 5.6 17 7M7 17l-1.4 1.4',
)
export const MoonIcon = draw('M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z')
export const LeaveIcon = draw('M14 5H6a1 1 0 0 0-1 1v12a1 1 0 0 0 1 1h8M10 12h10M16.5 8.5 20 12l-3.5 3.5')
export const WarningIcon = draw('M12 4 2.8 19.5h18.4zM12 10v4.5M12 17.2v.1')
export const SendIcon = draw('M12 19V5M6 11l6-6 6 6')
export const StopIcon = draw('M7 7h10v10H7z', { fill: 'currentColor' })
export const BookIcon = draw(
  'M5 5.5A1.5 1.5 0 0 1 6.5 4H19v13H6.5A1.5 1.5 0 0 0 5 18.5 1.5 1.5 0 0 0 6.5 20H19M5 5.5v13',
)
export const FolderIcon = draw('M4 7a1 1 0 0 1 1-1h4.5l2 2H19a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1z')
export const UsersIcon = draw(
  'M12.5 8.5a3.5 3.5 0 1 1-7 0 3.5 3.5 0 0 1 7 0M3 19a6 6 0 0 1 12 0M16 5.2a3.5 3.5 0 0 1 0 6.6M17.5 14.2A6 6 0 0 1 21 19',
)
export const GaugeIcon = draw('M4.5 18a9 9 0 1 1 15 0M12 14l4-5M12 14v.1')
export const LimitsIcon = draw('M4 7h8M16 7h4M4 12h2M10 12h10M4 17h10M18 17h2M14 5v4M8 10v4M16 15v4')
export const SwitchIcon = draw('m8 9 4-4 4 4M8 15l4 4 4-4', { size: 16 })
export const BackendsIcon = draw('M5 5h14v6H5zM5 13h14v6H5zM8 8v.1M8 16v.1M11.5 8H16M11.5 16H16')
export const AuditIcon = draw(
  'M9 5H6a1 1 0 0 0-1 1v13a1 1 0 0 0 1 1h12a1 1 0 0 0 1-1V6a1 1 0 0 0-1-1h-3M9 4h6v3H9zM8.5 13.5l2.5 2.5 4.5-5',
)
export const ReceiptIcon = draw('M6 4h12v16l-2-1.4-2 1.4-2-1.4-2 1.4-2-1.4L6 20zM9 9h6M9 13h6')
