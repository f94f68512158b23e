// What all pages share: the API, and the orgs and apps of the person.
import type { Api } from './api'
import type { Session } from './auth'
import type { App, OrgOfUser } from './types'

export const console_ = {
  base: new URL('.', location.href), // of the API
  home: document.body as Node, // what dialogs stand in
  isEmbedded: false, // in a page of the owner, not in the console
  api: null as unknown as Api, // set before the first page is drawn
  session: null as unknown as Session, // there is none in a page of the owner
  orgs: [] as OrgOfUser[],
  apps: new Map<string, App[]>(), // by the org's id
  changed: () => {}, // draws the frame again

  async reload() {
    const { orgs } = await this.api.get<{ orgs: OrgOfUser[] }>('orgs')
    this.orgs = orgs
    this.changed()
  },

  async reloadApps(org: OrgOfUser) {
    const { apps } = await this.api.get<{ apps: App[] }>(`orgs/${org.id}/apps`)
    this.apps.set(org.id, apps)
    this.changed()
    return apps
  },

  appName(org: OrgOfUser, id: string): string {
    return this.apps.get(org.id)?.find(a => a.id === id)?.name ?? id
  },
}
