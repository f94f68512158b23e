// The settings that all pages share, and the data of the person for whom a page acts.
import type { Api } from './api'
import type { Session } from './auth'
import type { App, OrgOfUser } from './types'

export const console_ = {
  base: new URL('.', location.href), // of the API
  isEmbedded: false, // in a page of the owner, not in the console
  byServices: false, // only services of the owner make orgs
  keyPrefix: '', // begins API keys; '' in a page of the owner, which makes no apps
  maxKeyDays: 0, // the maximum lifetime of a new API key, in days; 0: a key may never expire
  supportUrl: null as string | null, // where a person of a suspended org gets help
  readSettings: (): Promise<void> => Promise.resolve(), // reads maxKeyDays, supportUrl and accent, unless they are known
  session: null as unknown as Session, // there is none in a page of the owner
}

// Person is the person for whom a page acts. Each embedded element has its own Person, so no element uses the token of another person.
export class Person {
  orgs: OrgOfUser[] = []
  apps = new Map<string, App[]>() // by the org's id
  email = '' // of the person, where it is known

  // changed draws orgs and apps again. Dialogs become children of home, so they have its styles.
  constructor(readonly api: Api, private changed: () => void, readonly home: HTMLElement = document.body) {}

  async reload() {
    this.orgs = await this.api.all<OrgOfUser>('orgs', 'orgs')
    this.changed()
  }

  async reloadApps(org: OrgOfUser) {
    this.apps.set(org.id, await this.api.all<App>(`orgs/${org.id}/apps`, 'apps'))
    this.changed()
  }

  appName(org: OrgOfUser, id: string): string {
    return this.apps.get(org.id)?.find(a => a.id === id)?.name ?? id
  }
}
