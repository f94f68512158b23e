// Every text that the console shows.

const plural = (n: number, one: string) => `${n} ${one}${n === 1 ? '' : 's'}`

export const text = {
  product: 'Latchkey',
  loading: 'Loading…',
  working: 'Working…',
  more: 'Load more',
  again: 'Try again',
  refresh: 'Refresh',
  close: 'Close',
  cancel: 'Cancel',
  create: 'Create',
  save: 'Save',
  saved: 'Saved.',
  edit: 'Edit',
  rename: 'Rename',
  remove: 'Remove',
  copy: 'Copy',
  copied: 'Copied.',
  notCopied: 'The browser did not let the page copy. Select the text and copy it.',
  none: '–',
  name: 'Name',
  id: 'Id',
  app: 'App',
  status: 'Status',
  created: 'Created',
  actions: 'Actions',

  problem: {
    title: 'Something went wrong',
    status: (status: number) => `The server answered ${status}.`,
    requestId: 'Request id',
    unreachable: { title: 'No answer', detail: 'The server cannot be reached. Check your connection and try again.' },
  },

  signIn: {
    title: 'You are not signed in',
    button: 'Sign in',
    signOut: 'Sign out',
    out: 'You are signed out',
    outAbout: 'This page has forgotten your sign-in.',
    again: 'You signed in again. Please repeat what you were about to do.',
    unreachable: 'The console cannot reach its server. Check your connection and try again.',
    noConfig: (status: number) => `The console has no settings: the server answered ${status}.`,
    lost: 'The sign-in was begun in another tab, or too long ago. Sign in once more.',
    refused: (reason: string) => `The sign-in did not succeed: ${reason}`,
  },

  nav: {
    menu: 'Org', skip: 'Skip to the content', org: 'Overview', members: 'Members', keys: 'API keys', links: 'Links',
    endpoints: 'Webhook endpoints', events: 'Events', audit: 'Audit log',
    noOrg: 'No such org', noOrgAbout: 'There is no such org, or you are not a member of it.',
    noPage: 'Nothing to see here', noPageAbout: 'There is no such page, or your role in this org does not open it.',
  } as Record<string, string>,

  roles: {
    admin: 'manages members, keys and webhooks',
    member: 'sees members, keys, links and events',
    viewer: 'sees the org alone',
  },

  orgs: {
    title: 'Your orgs', one: 'Org', all: 'All orgs', about: 'An org has members, and apps with API keys, links and webhooks.',
    oneAbout: 'The org and its apps.',
    create: 'New org', createIntro: 'You become its admin. A first app is made with it.', created: 'The org is made.',
    none: 'You are in no org yet', noneAbout: 'Make one to create API keys, or ask an admin to add you to theirs.',
    role: 'Role', addedBy: 'Added by', externalId: 'External id', allowance: 'Allowance of all keys',
    viewer: 'You are a viewer of this org. An admin can give you another role.',
    rename: 'Rename org',
    leave: 'Leave org', leaveIntro: 'You lose access at once. An org keeps at least one admin.', left: 'You left the org.',
    delete: 'Delete org',
    deleteIntro: 'All its API keys stop working at once, and its apps, links and webhooks end. Nobody can undo this.',
    typeName: 'To confirm, type the name of the org:', otherName: 'This is not the name of the org.', deleted: 'The org is deleted.',
  },

  apps: {
    title: 'Apps', about: 'An app owns API keys, links and webhook endpoints.', create: 'New app',
    createIntro: 'Make an app for each product or environment, such as staging.', rename: 'Rename app', default: 'default',
  },

  members: {
    title: 'Members', about: 'The people of this org, and what they may do.', person: 'Person', joined: 'Joined', you: 'you',
    add: 'Add member', addSubmit: 'Add', addIntro: 'The person must have signed in here once, with this email verified.', email: 'Email',
    added: 'The member is added.', role: 'Role', changeRole: 'Change role', remove: 'Remove member',
    removeIntro: 'They lose access at once. API keys that they made stay good.', removed: 'The member is removed.',
  },

  keys: {
    title: 'API keys', about: 'What your servers send to prove who they are.', key: 'Key', create: 'New API key', unnamed: 'Unnamed key',
    none: 'No API keys yet', noneAbout: 'Create a key, put it in place of $KEY, and send a first request:',
    noneMember: 'An admin of this org can create one.',
    nameHelp: 'For you, to tell keys apart.', expires: 'Expires', never: 'Never', lastUsed: 'Last used', neverUsed: 'Never',
    days: (n: number) => `After ${plural(n, 'day')}`, hours: (n: number) => `After ${plural(n, 'hour')}`,
    scopes: 'Scopes', scopesHelp: 'What the key may do at the endpoints behind it, separated by spaces.',
    metadata: 'Metadata', metadataName: 'Name', metadataValue: 'Value', metadataAdd: 'Add a value',
    metadataHelp: 'Passed to the endpoints with each request of the key; at most 1 KB.',
    limits: 'Limits', per: (unit: string) => `per ${unit}`, limit: (n: string, per: string) => `${n} per ${per}`,
    limitsHelp: 'How many requests are let through; at most three of the four. Empty is no limit.',
    ceilings: 'Ceilings', ceilingsHelp: 'Set by the owner of this service; both hold.',
    shownTitle: 'Your new API key', shownIntro: 'Copy it now and keep it safe. It is shown this once, and nobody can show it again.',
    copyKey: 'Copy key', shownDone: 'I have saved the key', try: 'Try it',
    details: 'API key', edit: 'Edit API key', revokedAt: 'Revoked',
    rotate: 'Rotate', rotateTitle: 'Rotate API key',
    rotateIntro: 'A new key takes its place, with the same name, app, scopes, metadata and limits.',
    grace: 'The old key ends', graceNone: 'At once', graceHelp: 'Until then both keys work.', endsIn: (left: string) => `ends in ${left}`,
    revoke: 'Revoke', revokeTitle: 'Revoke API key', revokeIntro: 'Every request with this key is refused at once. Nobody can undo this.',
    alsoEndpoints: 'Also disable its endpoints',
    alsoEndpointsHelp: 'Webhook endpoints that the key made or set. If not, they go on getting events.',
    alsoLinks: 'Also revoke its links', alsoLinksHelp: 'Pending links that the key made. If not, they can still be claimed.',
    revoked: (endpoints: boolean, links: boolean) => [
      'The key is revoked.',
      endpoints ? 'Its endpoints are disabled; an admin can enable them.' : 'Endpoints that it made or set are as they were.',
      links ? 'Its pending links can no longer be claimed; the list shows it within minutes.' : 'Links that it made can still be claimed.',
    ].join(' '),
  },

  usage: {
    title: 'Requests in the last 30 days (UTC)', requests: 'Requests', atMost: 'At most', day: 'Day',
    limit: (n: string) => `Limit of ${n} a day`,
    none: 'Nothing was counted in the last 30 days. Keys without limits are counted only where the deployment counts all.',
  },

  chart: { table: 'Show as a table', above: 'above the chart' },

  links: {
    title: 'Links', about: 'Invitations that your server made, each for one device of a user.', user: 'User', device: 'Device',
    expires: 'Expires', ended: 'Claimed or revoked', none: 'No links yet', noneAbout: 'Your server makes one with an API key of this app:',
    revoke: 'Revoke link', revokeShort: 'Revoke', revokeIntro: 'Nobody can claim it any more.', revoked: 'The link is revoked.',
  },

  endpoints: {
    title: 'Webhook endpoints', one: 'Webhook endpoint', about: 'Where the events of this app are sent.', url: 'URL', events: 'Events',
    eventsHelp: 'Types separated by spaces. * is every type; link.* is every type that begins so.',
    description: 'Description', create: 'New endpoint',
    createIntro: 'It gets each event as a signed POST. Verify the signature before you trust it.',
    created: 'The endpoint is made.', none: 'No webhook endpoints yet',
    noneAbout: 'Register a URL of your server to be told of links, keys and more as they change.',
    enabled: 'enabled', disabled: 'disabled',
    reasons: {
      admin: 'by an admin', user: 'with an API key', gone: 'it answered 410', failing: 'it failed for 5 days',
    } as Record<string, string>,
    test: 'Send test event', testShort: 'Test', tested: 'A test event is on its way.',
    enable: 'Enable endpoint', enableShort: 'Enable', enableIntro: 'Deliveries that are held go on.',
    disable: 'Disable endpoint', disableShort: 'Disable',
    disableIntro: 'No attempt begins any more. Deliveries are held until an admin enables it.',
    delete: 'Delete endpoint', deleteIntro: 'Deliveries that wait are cancelled. Nobody can undo this.',
    deleted: 'The endpoint is deleted.',
    held: 'Held deliveries', createdBy: 'Made by', setBy: 'URL or events set by', admin: 'an admin', last: 'Last deliveries',
    hours: 'Deliveries of the last 24 hours', hour: 'Hour', bounded: 'There were more than 500: the bars show the oldest of them.',
    quiet: 'Nothing was sent in the last 24 hours.',
  },

  events: {
    title: 'Events', one: 'Event', about: 'What happened in this app, kept for 30 days. An event is listed 10 seconds after it happened.',
    type: 'Type', at: 'When', payload: 'Payload',
    since: 'Since', every: 'Every type', hour: 'the last hour', day: 'the last 24 hours', week: 'the last 7 days',
    month: 'the last 30 days',
    newer: 'Load newer events', hidden: 'Only admins see the payload of events about webhook endpoints.',
    none: 'No events in this time', noneAbout: 'Events appear when links are claimed, keys change, or an endpoint is tested.',
  },

  deliveries: {
    title: 'Deliveries', delivered: 'Delivered', failed: 'Failed', waiting: 'Waiting', again: 'Send again', allAgain: 'Send failed again',
    allIntro: 'Every failed delivery to one endpoint since a time is sent once more.',
    attempts: (n: number) => plural(n, 'attempt'), next: 'next', at: 'delivered', took: (ms: string) => `${ms} ms`,
    noAttempt: 'No attempt yet.', none: 'No endpoint gets this event.', bounded: 'Only the first deliveries are shown.',
    queued: (n: number) => n === 0 ? 'Nothing to send again.' : `${n === 1 ? 'One delivery' : `${n} deliveries`} will be sent again.`,
  },

  audit: {
    title: 'Audit log', about: 'Who did what in this org. Entries are kept for 400 days.', what: 'Action', who: 'By', target: 'Target',
    changes: 'Changes', service: 'service', none: 'No entries', noneAbout: 'What members and keys do appears here.',
    types: {
      user: 'user', api_key: 'API key', org: 'org', key: 'API key', app: 'app', link: 'link', endpoint: 'endpoint',
    } as Record<string, string>,
  },
}
